import { NativeSelect, TextInput } from '@mantine/core'

const LONGEST_TEXT = 256

interface FirstFieldProps {
  label: string
  description?: string
  value: string
  onChange: (value: string) => void
}

/** The text that a form begins with, and needs. */
export function FirstField({ onChange, ...props }: FirstFieldProps) {
  return (
    <TextInput
      {...props}
      required
      maxLength={LONGEST_TEXT}
      data-autofocus
      onChange={({ currentTarget: { value } }) => onChange(value)}
    />
  )
}

interface ChoiceFieldProps {
  label: string
  options: readonly (string | { value: string; label: string })[]
  value: string
  onChange: (value: string) => void
}

export function ChoiceField({ options, onChange, ...props }: ChoiceFieldProps) {
  return (
    <NativeSelect {...props} mt="md" data={[...options]} onChange={({ currentTarget: { value } }) => onChange(value)} />
  )
}
