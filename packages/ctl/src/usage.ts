/**
 * `usage`: shows the usage of one account over time, or of all together.
 */

import { usageQuery, completeUsageQuestion, type UsageTotals, type UsageQuestion } from '@gateway/contracts/usage-api'
import { toUsageRecord, toUsageTotals } from '@gateway/pricing/usage-record'
import { readInteger } from '@gateway/service/plain-number'
import { UsageError } from '@gateway/service/report-fatal'
import { findAccount } from './accounts.ts'
import { renderTable, type CommandResult, type Column } from './command-result.ts'
import type { Gateway } from './gateway.ts'

export interface UsageOptions {
  account?: string
  from?: string
  to?: string
  by?: string
  session?: string
  top: string
}

export async function showUsage(gateway: Gateway, options: UsageOptions): Promise<CommandResult> {
  const question = readQuestion(options)
  if (options.account !== undefined) return usageOfAccount(gateway, options.account, question)
  for (const option of ['by', 'session'] as const) {
    if (options[option] !== undefined) throw new UsageError(`--${option} is for one account: add --account <subject>`)
  }
  return usageByAccount(gateway, question, options.top)
}

async function usageOfAccount(gateway: Gateway, subject: string, question: UsageQuestion): Promise<CommandResult> {
  const { account } = await findAccount(gateway, subject)
  const { from, to, group_by: groupBy, session } = question
  const { groups } = await gateway.request('meteringAccountUsage', { account, from, to, groupBy, session })
  const record = { account, ...toUsageRecord(question, groups) }
  const rows = record.data.map((row) => ({ ...row, name: row[groupBy] ?? '' }))
  const table = renderUsage(groupBy, [], [...rows, { name: 'total', ...record.totals }])
  return { data: record, text: `${account}, ${from} to ${to}\n${table}` }
}

async function usageByAccount(gateway: Gateway, { from, to }: UsageQuestion, top: string): Promise<CommandResult> {
  const atMost = readInteger(top)
  if (atMost === null || atMost < 1 || atMost > 1_000) throw new UsageError('--top is a whole number from 1 to 1000')
  const { groups, accounts, totals } = await gateway.request('meteringUsageByAccount', { from, to, atMost })
  const data = await Promise.all(
    groups.map(async ({ name: account, ...figures }) => {
      return { account, subject: await subjectOf(gateway, account), ...toUsageTotals(figures) }
    }),
  )
  const record = { from, to, accounts, data, totals: toUsageTotals(totals) }
  const rows = data.map(({ account, ...row }) => ({ name: account, ...row }))
  const subject: Column<UsageRow> = { title: 'subject', cell: (row) => row.subject ?? '' }
  const table = renderUsage('account', [subject], [...rows, { name: 'total', subject: '', ...record.totals }])
  const left = accounts > data.length ? `\n${accounts - data.length} accounts with less use are in the total only` : ''
  return { data: record, text: `${accounts} accounts, ${from} to ${to}\n${table}${left}` }
}

/** Null for guests, and for accounts that are gone. */
async function subjectOf(gateway: Gateway, account: string): Promise<string | null> {
  try {
    return (await findAccount(gateway, account)).subject
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return null
  }
}

type UsageRow = UsageTotals & { name: string; subject?: string | null }

function renderUsage(title: string, more: Column<UsageRow>[], rows: UsageRow[]): string {
  const figures: Column<UsageRow>[] = [
    { title: 'requests', cell: (row) => row.requests },
    { title: 'prompt', cell: (row) => row.prompt_tokens },
    { title: 'of it cached', cell: (row) => row.cached_tokens },
    { title: '%', cell: ({ cached_tokens: cached, prompt_tokens: all }) => Math.round((100 * cached) / (all || 1)) },
    { title: 'completion', cell: (row) => row.completion_tokens },
    { title: 'allowance', cell: (row) => row.allowance_tokens },
    { title: 'US dollars', cell: (row) => row.cost_usd },
  ]
  return renderTable([{ title, cell: (row) => row.name }, ...more, ...figures], rows)
}

function readQuestion({ from, to, by, session }: UsageOptions): UsageQuestion {
  const parsed = usageQuery.safeParse({ from, to, group_by: by, session })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const option = issue?.path[0] === 'group_by' ? 'by' : String(issue?.path[0])
    throw new UsageError(`--${option}: ${issue?.message}`)
  }
  try {
    return completeUsageQuestion(parsed.data, Date.now())
  } catch (error) {
    throw new UsageError(`--${error instanceof Error ? error.message : String(error)}`)
  }
}
