import { Button } from '@mantine/core'

interface RowButtonProps {
  /** `Remove`; with the row's name it is the button's name for screen readers. */
  act: string
  of: string
  isDangerous?: boolean
  onClick: () => void
}

/** A small button in a row of a table. */
export function RowButton({ act, of, isDangerous, onClick }: RowButtonProps) {
  return (
    <Button
      variant="default"
      size="compact-xs"
      c={isDangerous ? 'var(--bad)' : undefined}
      aria-label={`${act} ${of}`}
      onClick={onClick}
    >
      {act}
    </Button>
  )
}
