import type { AuditLog } from '@gateway/contracts/administration/audit-logs'
import { Table } from '@mantine/core'
import { actorOf, changesOf, objectOf, wordsOf } from '../../core/audit-rows.ts'
import { formatMoment } from '../../core/format.ts'
import { isoOf } from '../../core/unix-time.ts'
import { Fact, Facts } from '../../parts/facts.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import classes from './audit.module.css'

/** One line, which opens. */
export function AuditRow({ row }: { row: AuditLog }) {
  return (
    <li className={classes.row}>
      <details>
        <summary className={classes.summary}>
          <span className={classes.event}>{wordsOf(row.type)}</span>
          <span dir="auto" className={classes.actor}>
            {actorOf(row).name}
          </span>
          <span dir="auto" className={classes.project}>
            {row.project?.name ?? row.project?.id ?? ''}
          </span>
          <time dateTime={isoOf(row.effective_at)} className={classes.time}>
            {formatMoment(isoOf(row.effective_at))}
          </time>
        </summary>
        <div className={classes.open}>
          <AuditDetails row={row} />
          <p className={classes.permalink}>
            <PageLink to={`/organization/audit/${row.id}`}>Permalink</PageLink>
          </p>
        </div>
      </details>
    </li>
  )
}

/** All that a row says, with the values before and after. */
export function AuditDetails({ row }: { row: AuditLog }) {
  const actor = actorOf(row)
  const object = objectOf(row)
  const changes = changesOf(row)
  return (
    <div className={classes.details}>
      <Facts>
        <Fact name="Event">
          <span className="mono">{row.type}</span>
        </Fact>
        <Fact name="Actor">
          <PageLink to={`/organization/audit?actor=${encodeURIComponent(actor.id)}`}>{actor.name}</PageLink>{' '}
          <span className="quiet">({actor.kind})</span>
        </Fact>
        {object && (
          <Fact name="Object">
            <span className="mono">{object}</span>
          </Fact>
        )}
        {row.project && (
          <Fact name="Project">
            <PageLink to={`/organization/audit?project=${encodeURIComponent(row.project.id)}`}>
              {row.project.name ?? row.project.id}
            </PageLink>
          </Fact>
        )}
        <Fact name="Address">{row.ip_address ?? 'not over HTTP'}</Fact>
        <Fact name="Client">{row.user_agent ?? 'unknown'}</Fact>
        <Fact name="Request">
          <span className="mono">{row.request_id ?? 'none'}</span>
        </Fact>
        <Fact name="Row">
          <span className="mono">{row.id}</span>
        </Fact>
        <Fact name="Hash">
          <span className="mono">{row.hash}</span>
        </Fact>
      </Facts>
      {changes.length > 0 && (
        <div className={classes.changes} role="region" aria-label={`Values of ${row.id} before and after`} tabIndex={0}>
          <Table verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th scope="col">Value</Table.Th>
                <Table.Th scope="col">Before</Table.Th>
                <Table.Th scope="col">After</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {changes.map(({ name, before, after }) => (
                <Table.Tr key={name}>
                  <Table.Th scope="row">{name}</Table.Th>
                  <Table.Td className={classes.value}>{before}</Table.Td>
                  <Table.Td className={classes.value}>{after}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </div>
  )
}
