import { useEffect, useRef } from 'react'
import { CopyButton } from './copy-button.tsx'
import classes from './secret-value.module.css'

/** The complete key, with a way to copy it. It takes the focus, so that a screen reader reads it. */
export function SecretValue({ value }: { value: string }) {
  const start = useRef<HTMLDivElement>(null)
  useEffect(() => start.current?.focus(), [value])
  return (
    <div ref={start} tabIndex={-1} className={classes.key}>
      <code className={classes.value} aria-label="The key">
        {value}
      </code>
      <CopyButton value={value} label="Copy key" />
    </div>
  )
}
