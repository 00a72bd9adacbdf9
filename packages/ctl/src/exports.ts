/**
 * `exports`: how far the export of the ledger is, and a request to write now.
 */

import type { ListedExport } from '@gateway/contracts/administration/exports'
import { renderTable, type CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'

export async function listExports(gateway: Gateway): Promise<CommandResult> {
  const { data } = await gateway.administer('exports.list', {})
  if (data.length === 0) return { data, text: 'The config file names no `exports`.' }
  const table = renderTable<ListedExport>(
    [
      { title: 'export', cell: ({ id }) => id },
      { title: 'last file', cell: ({ last_file: file }) => file ?? '' },
      { title: 'rows', cell: ({ rows }) => rows },
      { title: 'corrections', cell: ({ corrections }) => corrections },
      { title: 'pending', cell: ({ pending_rows: rows }) => rows },
      { title: 'behind', cell: ({ behind_seconds: seconds }) => `${seconds} s` },
      { title: 'last error', cell: ({ last_error: error }) => error ?? '' },
    ],
    data,
  )
  return { data, text: table }
}

export async function runExport(gateway: Gateway, id: string): Promise<CommandResult> {
  const data = await gateway.administer('exports.run', { export_id: id })
  return { data, text: `${id} writes its ${data.pending_rows} pending rows now; see \`exports list\`` }
}
