import { Button } from '@mantine/core'
import { Card } from '../../parts/card.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { SecretValue } from '../../parts/secret-value.tsx'
import { exportKey, Snippets } from '../../parts/snippets.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import classes from './revealed-key.module.css'

/** The complete key, until the person closes the card. The page stores it nowhere. */
export function RevealedKey({ value, onDone }: { value: string; onDone: () => void }) {
  return (
    <Card
      title="Your key"
      aside={
        <Button variant="default" size="xs" onClick={onDone}>
          I have stored it
        </Button>
      }
    >
      <SecretValue value={value} />
      <p className={classes.advice}>
        Copy it now and keep it like a password: whoever has it spends your allowance. It is not shown again by itself.
      </p>
      <h3 className={classes.step}>Try it in your terminal</h3>
      <CodeBlock label="Setting the key" code={exportKey(value)} />
      <div className={classes.gap} />
      <Snippets />
      <p className={classes.next}>
        Or without leaving this page: <PageLink to="/playground">open the playground</PageLink>.
      </p>
    </Card>
  )
}
