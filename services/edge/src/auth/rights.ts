/**
 * Reads a person's role and groups from the claims of a verified token.
 *
 * A claim that has another form than the configured one gives nothing: neither a role nor a group.
 */

import { administrationOf, type AdministrationSettings } from '@gateway/contracts/administration/settings'
import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import type { VerifyToken } from './verify-token.ts'

type ClaimNames = Pick<AdministrationSettings, 'operators' | 'signIn'>

export interface Rights {
  email?: string
  name?: string
  /** In the organization. */
  role: 'reader' | 'owner' | null
  groups: string[]
  /** The token has the claim at all. Other scopes may leave it out, and so does a provider with too many groups. */
  hasRole: boolean
  hasGroups: boolean
}

/** Resolves with the person who signed in, and the rights by the claims of the token. */
export type VerifyPerson = (token: string) => Promise<KeyOwner & Rights>

/** The config's names of claims may change while the edge runs. */
export function verifyPersonBy(
  verify: VerifyToken,
  config: { readonly current: Partial<AdministrationSettings> },
): VerifyPerson {
  return async (token) => {
    const { claims, ...owner } = await verify(token)
    return { ...owner, ...rightsOf(claims, administrationOf(config.current)) }
  }
}

/** Longer ones are no names of people, and no addresses. */
const LONGEST_TEXT = 320

export function rightsOf(claims: object, { operators, signIn }: ClaimNames): Rights {
  const roles = textsOf(claims, operators.claim)
  const role = roles.includes(operators.owner) ? 'owner' : roles.includes(operators.reader) ? 'reader' : null
  const email = textOf(claims, 'email')
  const name = textOf(claims, 'name') ?? textOf(claims, 'preferred_username')
  return {
    ...(email !== undefined && { email }),
    ...(name !== undefined && { name }),
    role,
    groups: [...new Set(textsOf(claims, signIn.groupsClaim))],
    hasRole: claimOf(claims, operators.claim) !== undefined,
    hasGroups: claimOf(claims, signIn.groupsClaim) !== undefined,
  }
}

/** A claim of this whole name, or else a member of a claim: `realm_access.roles`. */
function claimOf(claims: object, name: string): unknown {
  if (Object.hasOwn(claims, name)) return (claims as Record<string, unknown>)[name]
  let value: unknown = claims
  for (const member of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined
    value = (value as Record<string, unknown>)[member]
  }
  return value
}

/** A text or a list of texts. */
function textsOf(claims: object, name: string): string[] {
  const claim = claimOf(claims, name)
  const list: unknown[] = Array.isArray(claim) ? claim : [claim]
  return list.filter(isStorable)
}

function textOf(claims: object, name: string): string | undefined {
  const text = claimOf(claims, name)
  return isStorable(text) && text.length <= LONGEST_TEXT ? text : undefined
}

/** As the database stores it: a changed one could be another role or group. */
function isStorable(text: unknown): text is string {
  return typeof text === 'string' && text !== '' && text.isWellFormed() && !text.includes('\0')
}
