import { Button } from '@mantine/core'
import { useState } from 'react'
import { CheckIcon, CopyIcon } from './icons.tsx'

const SAID_FOR_MS = 2_000

export function CopyButton({ value, label = 'Copy' }: { value: string; label?: string }) {
  const [said, setSaid] = useState<'copied' | 'failed' | null>(null)
  async function copy(): Promise<void> {
    setSaid(
      await navigator.clipboard.writeText(value).then(
        () => 'copied' as const,
        () => 'failed' as const,
      ),
    )
    setTimeout(() => setSaid(null), SAID_FOR_MS)
  }
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={said === 'copied' ? <CheckIcon /> : <CopyIcon />}
        onClick={() => void copy()}
      >
        {said === 'copied' ? 'Copied' : said === 'failed' ? 'Select and copy' : label}
      </Button>
      <span role="status" className="visually-hidden">
        {said === 'copied' ? 'Copied to the clipboard' : ''}
      </span>
    </>
  )
}
