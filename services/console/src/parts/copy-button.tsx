import { Button, VisuallyHidden } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { CheckIcon, CopyIcon } from './icons.tsx'

export function CopyButton({ value, label = 'Copy' }: { value: string; label?: string }) {
  const { copy, copied, error } = useClipboard()
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={copied ? <CheckIcon /> : <CopyIcon />}
        onClick={() => copy(value)}
      >
        {copied ? 'Copied' : error ? 'Select and copy' : label}
      </Button>
      <VisuallyHidden role="status">{copied && 'Copied to the clipboard'}</VisuallyHidden>
    </>
  )
}
