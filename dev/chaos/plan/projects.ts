/**
 * Projects, their keys and their limits. A run reaches each limit, and changes some of them.
 */

/** Owners of an allowance are used up one after another, each within so many requests. */
export const REQUESTS_PER_ALLOWANCE = 1_000

/** Requests a minute of the key `key-requests`: an administrator changes between the two. */
export const KEY_REQUESTS = [12, 18] as const
export const KEY_TOKENS_PER_MINUTE = 1_000
/** Tokens a month of a `key-month`. */
export const KEY_MONTH_TOKENS = 1_500
/** Models of the key `key-models`. */
export const KEY_MODELS = ['chat-one']

/** Limits of one model for both keys of their project. */
export const MODEL_REQUESTS = [16, 24] as const
export const MODEL_TOKENS_PER_MINUTE = 1_000
export const MODEL_REQUESTS_PER_DAY = 40

/** The hard limit of a `spender`'s project, on pay-as-you-go. */
export const SPEND_CENTS = 1
/** The models that the project of `allowed` may call. */
export const PROJECT_MODELS = ['chat-one', 'embed']

const TENANTS = 3
const KEYS_OF_MODELS = 2

export type ProjectOwnerKind = (typeof PROJECT_OWNER_KINDS)[number]
export const PROJECT_OWNER_KINDS = [
  'key-requests',
  'key-tokens',
  'key-month',
  'key-models',
  'models',
  'spender',
  'allowed',
  /** Its key has no limits of its own. An administrator rotates and replaces it. */
  'tenant',
  /** Its key ends during the run, for good: by an archive, or by its time. */
  'passing',
] as const

/** The reasons for which each may be refused. `checkers/refusals.ts` checks that the limit is there, and is used up. */
export const REFUSED_FOR: Record<ProjectOwnerKind, readonly string[]> = {
  'key-requests': ['429 requests'],
  'key-tokens': ['429 tokens'],
  'key-month': ['402 quota_exceeded', '429 pending'],
  'key-models': ['429 plan_limit'],
  models: ['429 requests', '429 tokens', '429 day'],
  spender: ['402 quota_exceeded', '429 pending'],
  allowed: ['429 plan_limit'],
  tenant: [],
  passing: [],
}

type LastingKind = Exclude<ProjectOwnerKind, 'passing'>

export interface ProjectOwnerName {
  readonly kind: LastingKind
  readonly name: string
}

export function projectOwnersFor(requests: number): ProjectOwnerName[] {
  const series = Math.ceil(requests / REQUESTS_PER_ALLOWANCE)
  const numbered = (kind: LastingKind, count: number) =>
    Array.from({ length: count }, (_, index) => ({ kind, name: `${kind}-${index + 1}` }))
  return [
    { kind: 'key-requests', name: 'key-requests' },
    { kind: 'key-tokens', name: 'key-tokens' },
    { kind: 'key-models', name: 'key-models' },
    { kind: 'allowed', name: 'allowed' },
    ...numbered('models', KEYS_OF_MODELS),
    ...numbered('tenant', TENANTS),
    ...numbered('key-month', series),
    ...numbered('spender', series),
  ]
}

export function projectOwnerNameOf(kind: LastingKind, request: number, chosen: number): string {
  switch (kind) {
    case 'models':
      return `${kind}-${1 + (chosen % KEYS_OF_MODELS)}`
    case 'tenant':
      return `${kind}-${1 + (chosen % TENANTS)}`
    case 'key-month':
    case 'spender':
      return `${kind}-${1 + Math.floor((request - 1) / REQUESTS_PER_ALLOWANCE)}`
    default:
      return kind
  }
}
