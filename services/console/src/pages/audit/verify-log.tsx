import type { AuditVerification } from '@gateway/contracts/administration/audit-logs'
import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { formatCount } from '../../core/format.ts'
import { call } from '../../gateway/administration.ts'
import { useCaller } from '../../gateway/use-caller.ts'
import { Card } from '../../parts/card.tsx'
import { CheckIcon, WarningIcon } from '../../parts/icons.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import classes from './audit.module.css'

interface Outcome {
  checked: number
  last: AuditVerification
}

/** The gateway verifies the chain a page of rows at a time. */
export function VerifyLog() {
  const caller = useCaller()
  const [checked, setChecked] = useState(0)
  const verify = useMutation({
    async mutationFn(): Promise<Outcome> {
      let total = 0
      let last: AuditVerification | null = null
      do {
        last = await call(caller, 'audit.verify', behind(last))
        total += last.checked
        setChecked(total)
      } while (last.has_more)
      return { checked: total, last }
    },
  })
  return (
    <Card
      title="Is the log complete and unchanged?"
      aside={
        <Button
          variant="default"
          size="xs"
          loading={verify.isPending}
          onClick={() => {
            setChecked(0)
            verify.mutate()
          }}
        >
          Verify
        </Button>
      }
    >
      <div role="status">
        {verify.isIdle && <p className="quiet">Each row holds the hash of the row before. Verify follows the chain.</p>}
        {verify.isPending && <p className="quiet">{formatCount(checked)} rows are checked…</p>}
        {verify.data && <Verified {...verify.data} />}
      </div>
      {verify.error && <ProblemNotice problem={problemOf(verify.error)} />}
    </Card>
  )
}

function behind(last: AuditVerification | null): { after?: string; hash?: string } {
  return last?.last_id ? { after: last.last_id, hash: last.last_hash } : {}
}

function Verified({ checked, last: { problem, last_id: lastId, last_hash: lastHash } }: Outcome) {
  if (problem) {
    return (
      <p className={classes.verdict} data-is-right="false">
        <WarningIcon />
        <span>
          A row was {problem.kind}: {problem.message}.{' '}
          <PageLink to={`/organization/audit/${problem.id}`}>{problem.id}</PageLink>
        </span>
      </p>
    )
  }
  return (
    <>
      <p className={classes.verdict}>
        <CheckIcon />
        <span>
          {checked === 1 ? 'The only row is' : `All ${formatCount(checked)} rows are`} as the gateway wrote{' '}
          {checked === 1 ? 'it' : 'them'}.
        </span>
      </p>
      {lastId && (
        <p className={classes.lastHash}>
          The last is {lastId} with the hash <span className="mono">{lastHash}</span>. Note it elsewhere to find a log
          that was cut later.
        </p>
      )}
    </>
  )
}
