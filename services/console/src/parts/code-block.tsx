import { CopyButton } from './copy-button.tsx'
import classes from './code-block.module.css'

export function CodeBlock({ label, code }: { label: string; code: string }) {
  return (
    <div className={classes.block}>
      {/* Scrolls sideways, so the keyboard must reach it. */}
      <pre className={classes.code} tabIndex={0} aria-label={label}>
        <code>{code}</code>
      </pre>
      <div className={classes.copy}>
        <CopyButton value={code} />
      </div>
    </div>
  )
}
