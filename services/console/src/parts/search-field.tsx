import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'

const PAUSE_MS = 250

/** Searches on the gateway, once the person pauses. */
export function SearchField({ label, onSearch }: { label: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState('')
  const search = useDebouncedCallback(onSearch, PAUSE_MS)
  return (
    <TextInput
      type="search"
      size="xs"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={({ currentTarget: { value } }) => {
        setText(value)
        search(value.trim())
      }}
    />
  )
}
