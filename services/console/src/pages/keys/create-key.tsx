import { Button } from '@mantine/core'
import { useMintKey } from '../../gateway/change-keys.ts'
import { problemOf } from '../../parts/query-view.tsx'
import { Card } from '../../parts/card.tsx'
import { KeyIcon } from '../../parts/icons.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import classes from './create-key.module.css'

export function CreateKey({ isFirst, onCreated }: { isFirst: boolean; onCreated: (key: string) => void }) {
  const mint = useMintKey()
  return (
    <Card>
      <div className={classes.invitation}>
        <span className={classes.icon}>
          <KeyIcon />
        </span>
        <div className={classes.words}>
          <h2 className={classes.title}>{isFirst ? 'Create your first key' : 'You have no active key'}</h2>
          <p className="quiet">
            {isFirst
              ? 'It opens every model of your plan to your applications, and to the playground here.'
              : 'Applications and the playground need one. A new key starts with your plan and your usage as they are.'}
          </p>
        </div>
        <Button loading={mint.isPending} onClick={() => mint.mutate(undefined, { onSuccess: onCreated })}>
          Create key
        </Button>
      </div>
      {mint.error && <ProblemNotice problem={problemOf(mint.error)} />}
    </Card>
  )
}
