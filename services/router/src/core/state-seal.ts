/**
 * Seals the state that a client keeps for the gateway: reasoning of a target, or a compaction. The gateway stores none of it, so any
 * router opens the token of any other.
 *
 * A token is `svc<version>.<masterKeyId>.<base64url>`: AES-256-GCM, bound to the account and to the purpose. An altered token, and one of
 * another account, is the request's own fault. Without its key a token of reasoning is worth nothing, and the conversation goes on without
 * it. Version 1 seals a text, and version 2 a packed one (`packed-text.ts`).
 */

import { createSecretKey, hkdfSync } from 'node:crypto'
import type { StateSecretsReply } from '@gateway/contracts/keys-api'
import { open, seal, type SealingKeys } from '@gateway/sealing/sealing'
import { BackendFault, refused } from './backend-fault.ts'
import { packText, unpackText } from './packed-text.ts'

export type StatePurpose = 'reasoning' | 'compaction'

/** Seals the state of one account. Former keys still open it after a rotation. */
export interface StateSeal {
  /** A token; null: the state is too long, or the secrets cannot be had now. The response goes without it. */
  seal(purpose: StatePurpose, plaintext: string): string | null
  /**
   * Null: no token of ours (a vendor's own value). Throws the request's own fault for a forged token, and for one of another account or
   * purpose: a 400 that names `member`. Throws {@link UnknownSealKey} where the router has to fetch the secrets first. A token of
   * reasoning whose key is gone for good is an empty text.
   */
  open(purpose: StatePurpose, token: string, member?: string): string | null
}

/** The router fetches the secrets and translates the request again. */
export class UnknownSealKey extends Error {
  override name = 'UnknownSealKey'
}

/**
 * A streamed event is one line, and readers of lines have limits: Go's `bufio.Scanner` takes 64 KiB (go.dev/pkg/bufio, November 2026).
 * A quarter of that is left for the rest of the event.
 */
export const MOST_TOKEN_CHARACTERS = 48 * 1024
interface Version {
  prefix: string
  pack(text: string): Buffer
  unpack(bytes: Buffer): string
}
const TEXT: Version = {
  prefix: 'svc1.',
  pack: (text) => Buffer.from(text),
  unpack: (bytes) => bytes.toString('utf8'),
}
const PACKED: Version = { prefix: 'svc2.', pack: packText, unpack: unpackText }
/** A router of a former version refuses a conversation whose compaction it cannot read, and a summary has nothing to pack. */
const WRITTEN: Record<StatePurpose, Version> = { reasoning: PACKED, compaction: TEXT }
const PREFIX_CHARACTERS = TEXT.prefix.length
/** Those of later versions are ours, too. */
const ANY_VERSION = /^svc\d{1,3}\./
/** Nonce and authentication tag. */
const OVERHEAD_BYTES = 28
/** The id of a master key, and the dots. */
const HEAD_CHARACTERS = PREFIX_CHARACTERS + 13
export const MOST_SEALED_BYTES = Math.floor(((MOST_TOKEN_CHARACTERS - HEAD_CHARACTERS) * 3) / 4) - OVERHEAD_BYTES

/** A summary is a response of a model: the longest have 128,000 tokens (platform.openai.com/docs/models, 2026-11). */
export const MOST_SUMMARY_BYTES = 1024 * 1024
const MOST_BYTES: Record<StatePurpose, number> = { reasoning: MOST_SEALED_BYTES, compaction: MOST_SUMMARY_BYTES }

export function isStateToken(value: unknown): value is string {
  return typeof value === 'string' && ANY_VERSION.test(value)
}

export function deriveStateKeys({ secrets }: StateSecretsReply): SealingKeys {
  const keys = secrets.map(({ masterKeyId, secret }) => ({
    id: masterKeyId,
    sealingKey: createSecretKey(
      Buffer.from(hkdfSync('sha256', Buffer.from(secret, 'base64url'), '', 'router state', 32)),
    ),
  }))
  const current = keys[0]
  if (!current) throw new Error('there is no key to seal state with')
  return { current, byId: new Map(keys.map((key) => [key.id, key])) }
}

/** Seals and opens the state of one account, for one job. */
export class AccountSeal implements StateSeal {
  /** True once the router has fetched the secrets for this job: a key that is unknown now is gone. */
  isFinal = false
  #keys: () => SealingKeys | null
  #account: string

  /** `keys` returns the newest ones; null where the router has none. */
  constructor(keys: () => SealingKeys | null, account: string) {
    this.#keys = keys
    this.#account = account
  }

  seal(purpose: StatePurpose, plaintext: string): string | null {
    const keys = this.#keys()
    if (keys === null || plaintext.length > 2 * MOST_BYTES[purpose]) return null
    const { prefix, pack } = WRITTEN[purpose]
    const packed = pack(plaintext)
    if (packed.length > MOST_BYTES[purpose]) return null
    const { masterKeyId, sealed } = seal(keys, packed, boundTo(this.#account, purpose))
    return `${prefix}${masterKeyId}.${Buffer.from(sealed).toString('base64url')}`
  }

  open(purpose: StatePurpose, token: string, member = 'encrypted_content'): string | null {
    if (!isStateToken(token)) return null
    // A newer router has sealed it. Both versions run side by side while one replaces the other.
    const version = [TEXT, PACKED].find(({ prefix }) => token.startsWith(prefix))
    if (version === undefined) return lost(purpose, member)
    const keys = this.#keys()
    const { masterKeyId, sealed } = partsOf(purpose, token, member)
    if (keys?.byId.has(masterKeyId))
      return version.unpack(openToken(keys, { masterKeyId, sealed }, boundTo(this.#account, purpose), member))
    if (!this.isFinal) throw new UnknownSealKey(`no secret of the master key ${masterKeyId} is known`)
    if (keys === null && purpose === 'compaction') throw keysAway()
    return lost(purpose, member)
  }
}

/** A conversation goes on without its reasoning, but not without its beginning. */
function lost(purpose: StatePurpose, member: string): string {
  if (purpose === 'reasoning') return ''
  throw refused(member, 'was sealed under a key that the service does not have: send the conversation itself')
}

function openToken(keys: SealingKeys, sealed: Parameters<typeof open>[1], bound: string, member: string): Buffer {
  try {
    return open(keys, sealed, bound)
  } catch {
    throw forged(member)
  }
}

/** A purpose holds no space, so no account and purpose run into those of another. */
function boundTo(account: string, purpose: StatePurpose): string {
  return `${purpose} ${account}`
}

function partsOf(purpose: StatePurpose, token: string, member: string): { masterKeyId: string; sealed: Uint8Array } {
  if (token.length > HEAD_CHARACTERS + Math.ceil(((MOST_BYTES[purpose] + OVERHEAD_BYTES) * 4) / 3)) throw forged(member)
  const [, masterKeyId = '', sealed = '', ...others] = token.split('.')
  if (masterKeyId === '' || others.length > 0 || !/^[\w-]+$/.test(sealed)) throw forged(member)
  return { masterKeyId, sealed: Buffer.from(sealed, 'base64url') }
}

function forged(member: string): BackendFault {
  return refused(member, 'is not as this service gave it to this account: send it back unaltered, or leave it out')
}

/** Nobody may guess at a summary, so the request waits for the secrets. */
function keysAway(): BackendFault {
  return new BackendFault('status', 'the secrets that open a compaction cannot be had', { status: 503, isUnsent: true })
}
