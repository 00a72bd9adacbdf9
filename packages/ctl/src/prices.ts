/**
 * `prices refresh`: the vendors' rates of a config file's direct models by the list that the price package's authors keep
 * today. It shows each difference, and writes only with `--write`. The operator's own rates stay.
 */

import { chmod, chown, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { readConfigDocument, type ConfigDocument } from '@gateway/config/config-document'
import { reviewConfig } from '@gateway/config/review-config'
import { servedModelConfig, vendorRates, type ServedModelConfig, type VendorRates } from '@gateway/contracts/config'
import { listRates, PRICE_LIST, PUBLISHED_AT, readPriceList, type PriceList } from '@gateway/pricing/list-rates'
import { UsageError } from '@gateway/service/report-fatal'
import { renderTable, type CommandResult } from './command-result.ts'
import { readText } from './config.ts'

export interface RefreshOptions {
  write?: boolean
  /** The address of a copy of the list; the authors' own without it. */
  url?: string
}

/** Its name without the release: the installed list and a fetched one are by the same authors. */
const AUTHORS = PRICE_LIST.source.split(' ')[0]!
const FETCH_TIMEOUT_MS = 30_000
const LARGEST_LIST_BYTES = 64 * 1024 * 1024

interface Row {
  model: string
  rate: string
  now: string
  listed: string
}

export async function refreshPrices(file: string, { write = false, url }: RefreshOptions): Promise<CommandResult> {
  const text = await readText(file)
  const read = readConfigDocument(text)
  if (read.syntaxProblem) throw new UsageError(`${file} ${read.syntaxProblem.message}`)
  const list = await fetchList(url ?? PUBLISHED_AT)
  const rows: Row[] = []
  const notes: string[] = []
  for (const { index, model } of directModelsOf(read)) {
    if (model.rates && !model.rates.source?.startsWith(AUTHORS)) {
      notes.push(`${model.id} keeps its own rates (${model.rates.source ?? 'without a source'})`)
      continue
    }
    const now = model.rates ?? listRates(model)?.rates
    const listed = ratesOf(model, list)
    if (!listed) {
      notes.push(`${model.id}: the list has no exact rates of ${model.ownedBy} for it`)
      continue
    }
    const changes = differences(model.id, now, listed)
    rows.push(...changes)
    if (changes.length > 0)
      read.document.setIn(['models', index, 'rates'], read.document.createNode(listed, { flow: true }))
  }
  if (write && rows.length > 0) await writeConfig(file, read.document.toString({ lineWidth: 0 }))
  return {
    data: { file, source: list.source, asOf: list.asOf, changes: rows, notes, written: write && rows.length > 0 },
    text: [...tableOf(rows), ...notes.map((note) => `note: ${note}`), verdict(file, rows, write)].join('\n'),
    findsFault: !write && rows.length > 0,
  }
}

/** The direct models of the file, even of one that cannot be used: a new model is only in the newest list. */
function directModelsOf({ document }: ConfigDocument) {
  const { models } = Object(document.toJS()) as { models?: unknown }
  return (Array.isArray(models) ? models : []).flatMap((entry: unknown, index) => {
    const { data: model } = servedModelConfig.safeParse(entry)
    return model?.direct ? [{ index, model }] : []
  })
}

async function fetchList(url: string): Promise<PriceList> {
  const asOf = new Date().toISOString().slice(0, 10)
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })
    if (!response.ok) throw new Error(`it responds with status ${response.status}`)
    return readPriceList(JSON.parse(await readBounded(response)), { source: `${AUTHORS}, its list of the day`, asOf })
  } catch (error) {
    throw new UsageError(
      `the price list at ${url} cannot be had: ${reasonOf(error)}. Nothing was changed. ` +
        'Try again with a network, or name a copy of the list by --url',
    )
  }
}

async function readBounded(response: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > LARGEST_LIST_BYTES) throw new Error(`it is larger than ${LARGEST_LIST_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** `fetch` says only that it failed; the cause says why. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message} (${cause.message || String(Object(cause)['code'])})` : message
}

/** Null also where the config file could not hold them. */
function ratesOf(model: ServedModelConfig, list: PriceList): VendorRates | null {
  try {
    return vendorRates.safeParse(listRates(model, list)?.rates).data ?? null
  } catch (error) {
    throw new UsageError(`the list's entry of ${model.ownedBy} cannot be read: ${(error as Error).message}`)
  }
}

function differences(model: string, now: VendorRates | undefined, listed: VendorRates): Row[] {
  const before = flat(now)
  const after = flat(listed)
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter((name) => before[name] !== after[name])
    .map((rate) => ({ model, rate, now: String(before[rate] ?? '-'), listed: String(after[rate] ?? '-') }))
}

/** Without source and day: only another rate is a difference. */
function flat(rates: VendorRates | undefined): Record<string, number> {
  if (!rates) return {}
  const { source: _, asOf: __, longPrompt, ...usual } = rates
  const long = Object.entries(longPrompt ?? {}).map(([name, value]) => [`longPrompt.${name}`, value] as const)
  return { ...usual, ...Object.fromEntries(long) }
}

/**
 * Renamed into place, so that a service that follows the file never reads half of it. The file stays where a link leads,
 * with its mode and owner: nobody new can read its secrets.
 */
async function writeConfig(file: string, text: string): Promise<void> {
  const { problems } = reviewConfig(text, file, null)
  if (problems.length > 0) {
    const [{ field, message }] = problems as [(typeof problems)[number]]
    throw new UsageError(`${file} was left as it is, because it cannot be used: ${field} ${message}. Run config check`)
  }
  const place = await realpath(file)
  const draft = `${place}.new`
  const { mode, uid, gid } = await stat(place)
  await rm(draft, { force: true })
  await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
  await chown(draft, uid, gid)
  await chmod(draft, mode)
  await rename(draft, place)
}

function tableOf(rows: Row[]): string[] {
  if (rows.length === 0) return []
  const columns = [
    { title: 'model', cell: ({ model }: Row) => model },
    { title: 'rate', cell: ({ rate }: Row) => rate },
    { title: 'now', cell: ({ now }: Row) => now },
    { title: 'listed', cell: ({ listed }: Row) => listed },
  ]
  return [renderTable(columns, rows)]
}

function verdict(file: string, rows: Row[], write: boolean): string {
  const models = new Set(rows.map(({ model }) => model)).size
  if (models === 0) return `${file} has the rates of the list`
  return write
    ? `${file} now names the listed rates of ${models} models`
    : `${models} models have other rates in the list; --write names them in ${file}`
}
