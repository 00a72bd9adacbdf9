import { Button } from '@mantine/core'
import { Card } from '../../parts/card.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { SecretValue } from '../../parts/secret-value.tsx'
import { exportKey } from '../../parts/snippets.tsx'
import classes from './shown-once.module.css'

export interface NewValue {
  name: string
  value: string
}

/** The value of a new or rotated key, which the gateway returns this once. */
export function ShownOnce({ made: { name, value }, onDone }: { made: NewValue; onDone: () => void }) {
  return (
    <Card
      title={`The value of ${name}`}
      aside={
        <Button variant="default" size="xs" onClick={onDone}>
          I have stored it
        </Button>
      }
    >
      <SecretValue value={value} />
      <p className={classes.advice}>Copy it now: nobody can show it again. A rotation replaces it.</p>
      <CodeBlock label="Setting the key" code={exportKey(value)} />
    </Card>
  )
}
