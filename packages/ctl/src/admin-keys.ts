/**
 * `admin-keys …`: the keys of administrators. The first one is made here, on the machine of the gateway.
 */

import type { Output } from '@gateway/contracts/administration/operations'
import { readDecimalNumber } from '@gateway/service/plain-number'
import { UsageError } from '@gateway/service/report-fatal'
import { renderTable, type CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'
import { dateOf, readAll } from './pages.ts'

const SECONDS_PER_DAY = 86_400

export async function createAdminKey(gateway: Gateway, name: string, days: string | undefined): Promise<CommandResult> {
  const key = await gateway.administer('adminKeys.create', {
    name,
    ...(days !== undefined && { expires_in_seconds: readDays(days) * SECONDS_PER_DAY }),
  })
  return { data: key, text: `${key.value}\nThis is the only time that the key is shown. GATEWAY_ADMIN_KEY takes it.` }
}

function readDays(text: string): number {
  const days = readDecimalNumber(text)
  if (days === null || !Number.isInteger(days) || days < 1) throw new UsageError(`days are a whole number, not ${text}`)
  return days
}

type AdminKey = Output<'adminKeys.list'>['data'][number]

export async function listAdminKeys(gateway: Gateway): Promise<CommandResult> {
  const keys: AdminKey[] = await readAll((after) => gateway.administer('adminKeys.list', { limit: 100, after }))
  const text = renderTable<AdminKey>(
    [
      { title: 'id', cell: ({ id }) => id },
      { title: 'name', cell: ({ name }) => name ?? '' },
      { title: 'created', cell: (key) => dateOf(key.created_at) },
      { title: 'expires', cell: (key) => (key.expires_at === null ? 'never' : dateOf(key.expires_at)) },
      { title: 'last used', cell: (key) => (key.last_used_at === null ? 'never' : dateOf(key.last_used_at)) },
    ],
    keys,
  )
  return { data: keys, text }
}

export async function revokeAdminKey(gateway: Gateway, id: string): Promise<CommandResult> {
  const data = await gateway.administer('adminKeys.delete', { key_id: id })
  return { data, text: `the admin key ${id} opens nothing any more` }
}
