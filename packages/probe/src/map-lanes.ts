/**
 * Chooses which of a server's models serves which of the gateway's lanes. Pure.
 *
 * Lanes go from small to large, so the models are put into that order. The order follows the number of parameters where it is
 * known, else the vendors' words for sizes, else the name.
 */

import type { ListedModel } from './describe-server.ts'

/** The pools of the default models (`@gateway/contracts/default-config`), from the smallest lane to the largest. */
const CHAT_POOLS = {
  small: ['spark'],
  middle: ['bolt'],
  large: ['nova', 'research', 'agent'],
  largest: ['atlas', 'apex'],
}
const POOL_OF_CODE = 'code'
const POOL_OF_VISION = 'vision'
const POOLS_OF_EMBEDDINGS = ['embed', 'embed-fast']

export interface LaneChoice {
  pool: string
  model: string
}

/** A probe's findings about the chosen models. */
export interface Skills {
  tools: ReadonlySet<string>
  vision: ReadonlySet<string>
  /** Those that give vectors as the gateway needs them. */
  embeds: ReadonlySet<string>
}

/** The models worth a probe: those that a lane could get. At most five that chat, and one of embeddings. */
export function choosePossible(models: readonly ListedModel[]): ListedModel[] {
  const { small, middle, large, largest, code } = sizesOf(models)
  const chat = new Set([small, middle, large, largest, code].filter((model) => model !== undefined))
  const embeddings = models.filter(({ does }) => does === 'embeddings').slice(0, 1)
  return [...chat, ...embeddings]
}

export function mapLanes(models: readonly ListedModel[], skills: Skills): LaneChoice[] {
  const { small, middle, large, largest, code } = sizesOf(models)
  if (!small || !middle || !large || !largest) return embeddingLanes(models, skills)
  const to = (pools: readonly string[], { id }: ListedModel) => pools.map((pool) => ({ pool, model: id }))
  const sees = [large, largest, middle, small].find(({ id }) => skills.vision.has(id))
  return [
    ...to(CHAT_POOLS.small, small),
    ...to(CHAT_POOLS.middle, middle),
    ...to(
      CHAT_POOLS.large.filter((pool) => pool !== 'agent' || skills.tools.has(large.id)),
      large,
    ),
    ...to(CHAT_POOLS.largest, largest),
    ...to([POOL_OF_CODE], code ?? large),
    ...(sees ? to([POOL_OF_VISION], sees) : []),
    ...embeddingLanes(models, skills),
  ]
}

function embeddingLanes(models: readonly ListedModel[], { embeds }: Skills): LaneChoice[] {
  const model = models.find(({ id }) => embeds.has(id))
  return model ? POOLS_OF_EMBEDDINGS.map((pool) => ({ pool, model: model.id })) : []
}

interface Sizes {
  small?: ListedModel | undefined
  middle?: ListedModel | undefined
  large?: ListedModel | undefined
  largest?: ListedModel | undefined
  code?: ListedModel | undefined
}

const WRITES_CODE = /code|coder|codestral|devstral/i

function sizesOf(models: readonly ListedModel[]): Sizes {
  const chat = models.filter(({ does }) => does === 'chat')
  const general = chat.filter(({ id }) => !WRITES_CODE.test(id))
  const ladder = ladderOf(general.length > 0 ? general : chat)
  const at = (part: number) => ladder[Math.round((ladder.length - 1) * part)]
  const code = bySize(chat.filter(({ id }) => WRITES_CODE.test(id))).at(-1)
  return { small: at(0), middle: at(1 / 3), large: at(2 / 3), largest: at(1), code }
}

/** The newest of each size among a vendor's many versions, and every model with a known size. */
function ladderOf(models: readonly ListedModel[]): ListedModel[] {
  if (models.every(({ parameters }) => parameters !== null)) return bySize(models)
  const newest = new Map<number, ListedModel>()
  for (const model of models) {
    const size = wordSize(model.id)
    const other = newest.get(size)
    if (!other || isNewer(model.id, other.id)) newest.set(size, model)
  }
  return [...newest.entries()].sort(([a], [b]) => a - b).map(([, model]) => model)
}

function bySize(models: readonly ListedModel[]): ListedModel[] {
  return models.toSorted((a, b) => (a.parameters ?? 0) - (b.parameters ?? 0) || compare(a.id, b.id))
}

const SIZE_WORDS = [/\b(nano|tiny|lite|8b)\b/i, /\b(mini|haiku|small|flash)\b/i, /$/, /\b(pro|opus|large|max|ultra)\b/i]

/** A name without such a word, `gpt-5` or `claude-sonnet`, stands between. */
function wordSize(id: string): number {
  const at = SIZE_WORDS.findIndex((words, index) => index !== 2 && words.test(id))
  return at < 0 ? 2 : at
}

/** By the numbers of its name in order; a date or a snapshot's name loses against the plain one. */
function isNewer(id: string, than: string): boolean {
  const [a, b] = [versionOf(id), versionOf(than)]
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return id.length < than.length
}

const LARGEST_VERSION = 99
const DATE = /-\d{4}-\d{2}-\d{2}\b/

function versionOf(id: string): number[] {
  return [...id.replace(DATE, '').matchAll(/\d+/g)]
    .map(([digits]) => Number(digits))
    .filter((number) => number <= LARGEST_VERSION)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
