/**
 * An administration call on the bus, with the credential that came with it. The keys service proves the credential, decides whether
 * the caller may make the call, makes the change and writes the audit log, in one transaction.
 */

import * as z from 'zod'
import { ERROR_STATUS } from '../errors.ts'

/** The edge has verified a sign-in's token; nobody has verified an admin key. */
export const administrationCredential = z.discriminatedUnion('kind', [
  /** SHA-256 of the whole admin key, base64url. */
  z.object({ kind: z.literal('admin_key'), hash: z.string() }),
  z.object({
    kind: z.literal('sign_in'),
    issuer: z.string(),
    subject: z.string(),
    email: z.string().optional(),
    name: z.string().optional(),
    /** By the claim that the config's `operators` names. */
    role: z.enum(['reader', 'owner']).nullable(),
    groups: z.array(z.string()),
    /** The token has the claim at all. One that lacks it says nothing of the person's role, or groups. */
    hasRole: z.boolean().default(false),
    hasGroups: z.boolean().default(false),
  }),
  /** An edge has refused the credential: the call is for the audit log alone. */
  z.object({
    kind: z.literal('refused'),
    code: z.enum(['INVALID_KEY', 'INVALID_TOKEN']),
    /** With those before it that the edge has not reported. */
    count: z.int().min(1).default(1),
  }),
  /** An edge has verified its signature. It makes no call but `accounts.topUp`. */
  z.object({ kind: z.literal('payment_system') }),
  /** The command line on the bus or on the socket of the data folder. */
  z.object({ kind: z.literal('operator') }),
])
export type AdministrationCredential = z.infer<typeof administrationCredential>

/** For the audit log. */
export const callOrigin = z.object({
  /** The request's id; the command line makes one. */
  requestId: z.string(),
  /** The client's address; null on the bus. */
  address: z.string().nullable(),
  userAgent: z.string().max(512).nullable(),
})
export type CallOrigin = z.infer<typeof callOrigin>

export const administerRequest = z.object({
  /** A key of `operations`. */
  operation: z.string(),
  input: z.record(z.string(), z.unknown()),
  credential: administrationCredential,
  origin: callOrigin,
})
export type AdministerRequest = z.infer<typeof administerRequest>

export const administerRefusal = z.object({
  kind: z.literal('refused'),
  code: z.enum(Object.keys(ERROR_STATUS) as [keyof typeof ERROR_STATUS]),
  message: z.string(),
  param: z.string().optional(),
  /** When to try again. */
  retryAfterMs: z.number().optional(),
})
export type AdministerRefusal = z.infer<typeof administerRefusal>

export const administerReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('done'), output: z.unknown() }),
  administerRefusal,
])
export type AdministerReply = z.infer<typeof administerReply>

/**
 * For calls that another service serves: who the caller is, and whether the caller may make them. `operation` has the access; a
 * refusal is the call's.
 */
export const administrator = z.object({
  /** `key_…` of an admin key, `user-…` of a person, or `operator`. */
  id: z.string(),
  role: z.enum(['reader', 'owner']).nullable(),
})
export type Administrator = z.infer<typeof administrator>
