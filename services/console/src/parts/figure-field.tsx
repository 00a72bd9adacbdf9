import { TextInput } from '@mantine/core'

interface FigureFieldProps {
  label: string
  /** In place of an empty field. */
  placeholder?: string
  isRequired?: boolean
  value: string
  step?: string
  onChange: (value: string) => void
}

/** An empty field stands for no limit. */
export function FigureField({ label, value, step = '1', placeholder, isRequired, onChange }: FigureFieldProps) {
  return (
    <TextInput
      mt="md"
      type="number"
      min={step}
      step={step}
      label={label}
      required={isRequired ?? false}
      placeholder={placeholder ?? (isRequired ? '' : 'no limit of its own')}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}
