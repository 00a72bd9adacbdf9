/**
 * CloudEvents 1.0 in their JSON form, as OpenMeter and other meters take them: one event for each entry. Receivers drop events whose
 * `source` and `id` they know, so a file may be sent again. A meter that sums `charge` or tokens subtracts reversals by their sign.
 */

import { isoTime } from './columns.ts'
import type { Entry } from './entries.ts'
import { ledgerColumns } from './ledger-columns.ts'

const SOURCE = 'urn:model-gateway'
const TYPE = 'model-gateway.request'

export function cloudEventLine(entry: Entry): string {
  const { row, kind, change } = entry
  const event = {
    specversion: '1.0',
    id: change === null ? row.request_id : `${row.request_id}/${kind}/${change}`,
    source: SOURCE,
    type: TYPE,
    subject: row.account,
    time: isoTime(row.ended_at),
    datacontenttype: 'application/json',
    data: Object.fromEntries(ledgerColumns.map(({ name, of }) => [name, of(entry)])),
  }
  return `${JSON.stringify(event)}\n`
}
