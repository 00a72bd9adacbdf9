/**
 * Events of accounts that operators may act on, beside the thresholds of allowances. Each is published at least once; a repetition has
 * the same `id`.
 */

import * as z from 'zod'
import { openEnum } from './open-enum.ts'
import { planUnit } from './usage.ts'

/** A person's own account, or a project's. */
const accountKind = openEnum(['developer', 'project'])

/** One for each alert, window and threshold: a changed threshold is another one. */
export const spendAlertEvent = z.object({
  v: z.literal(1),
  id: z.string(),
  alertId: z.string(),
  scope: openEnum(['project', 'organization']),
  /** Null: all accounts together. */
  account: z.string().nullable(),
  accountKind: accountKind.nullable(),
  projectName: z.string().nullable(),
  /** Calendar month in UTC: `2026-11`. */
  window: z.string(),
  unit: planUnit,
  /** In `unit`. */
  threshold: z.number(),
  /** As it was when the alert was found reached. */
  used: z.number(),
  recipients: z.array(z.string()),
  subjectPrefix: z.string().nullable(),
  passedAt: z.iso.datetime(),
})
export type SpendAlertEvent = z.infer<typeof spendAlertEvent>

/** One for each change of a key, and one for each expiry that comes near. */
export const accountKeyEvent = z.object({
  v: z.literal(1),
  id: z.string(),
  change: openEnum(['created', 'rotated', 'revoked', 'expiring']),
  account: z.string(),
  accountKind,
  projectName: z.string().nullable(),
  keyId: z.string(),
  /** Of a project's key. */
  name: z.string().optional(),
  serviceAccountId: z.string().nullish(),
  expiresAt: z.iso.datetime().nullish(),
  at: z.iso.datetime(),
})
export type AccountKeyEvent = z.infer<typeof accountKeyEvent>
