/**
 * Spend alerts, of a project and of the organization: an event at a threshold, once a calendar month (UTC).
 */

import * as z from 'zod'
import { cents, monthlyUsd, allowanceTokens } from './limits.ts'
import { before, cursor, deleted, listOf, nothing, order, type Operation } from './operation.ts'

/** RFC 5321 bounds the part before the @, and RFC 1035 the labels after it. */
const DELIVERABLE = /^[^@]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i
const recipient = z
  .email()
  .max(254)
  .refine((address) => DELIVERABLE.test(address), 'is no address that mail can reach')

const notificationChannel = {
  type: z.literal('email'),
  recipients: z.array(recipient).min(1).max(50),
  subject_prefix: z.string().max(200).nullish(),
}

/** `threshold_amount` is in cents, and 0 where the alert has `allowance` alone: tokens, of the plans that count them (ours). */
function spendAlert<Name extends string>(object: Name) {
  return z.object({
    id: z.string(),
    object: z.literal(object),
    currency: z.literal('USD'),
    interval: z.literal('month'),
    threshold_amount: cents,
    allowance: allowanceTokens.optional(),
    notification_channel: z.object({ ...notificationChannel, subject_prefix: z.string().nullable() }),
  })
}

const projectAlert = spendAlert('project.spend_alert')
const organizationAlert = spendAlert('organization.spend_alert')
export type ProjectSpendAlert = z.input<typeof projectAlert>
export type OrganizationSpendAlert = z.input<typeof organizationAlert>

const body = z.strictObject({
  ...monthlyUsd,
  threshold_amount: cents.min(0).optional(),
  allowance: allowanceTokens.min(1).optional(),
  notification_channel: z.strictObject(notificationChannel),
})
export type SpendAlertBody = z.output<typeof body>

const query = z.strictObject({ ...cursor, ...before, ...order })
const OURS = '`allowance` (ours): a threshold in tokens, for plans that count them'
const OF_PROJECT = '/v1/organization/projects/{project_id}/spend_alerts'
const ONE_OF_PROJECT = `${OF_PROJECT}/{alert_id}` as const
const OF_ORGANIZATION = '/v1/organization/spend_alerts'
const ONE_OF_ORGANIZATION = `${OF_ORGANIZATION}/{alert_id}` as const

export const projectSpendAlertOperations = {
  'projectSpendAlerts.list': {
    method: 'GET',
    path: OF_PROJECT,
    service: 'keys',
    access: 'project reader',
    query,
    body: nothing,
    output: listOf(projectAlert),
    about: "lists a project's spend alerts, newest first",
  },
  'projectSpendAlerts.create': {
    method: 'POST',
    path: OF_PROJECT,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body,
    output: projectAlert,
    about: "creates an alert for a project's spending in a calendar month (UTC)",
    deviation: OURS,
  },
  'projectSpendAlerts.retrieve': {
    method: 'GET',
    path: ONE_OF_PROJECT,
    service: 'keys',
    access: 'project reader',
    query: nothing,
    body: nothing,
    output: projectAlert,
    about: "shows a project's spend alert",
  },
  'projectSpendAlerts.update': {
    method: 'POST',
    path: ONE_OF_PROJECT,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body,
    output: projectAlert,
    about: "replaces a project's spend alert",
    deviation: `${OURS}; another threshold alerts again in the same month`,
  },
  'projectSpendAlerts.delete': {
    method: 'DELETE',
    path: ONE_OF_PROJECT,
    service: 'keys',
    access: 'project owner',
    query: nothing,
    body: nothing,
    output: deleted('project.spend_alert.deleted'),
    about: "deletes a project's spend alert",
  },
} as const satisfies Record<string, Operation>

export const organizationSpendAlertOperations = {
  'spendAlerts.list': {
    method: 'GET',
    path: OF_ORGANIZATION,
    service: 'keys',
    access: 'reader',
    query,
    body: nothing,
    output: listOf(organizationAlert),
    about: "lists the organization's spend alerts, newest first",
  },
  'spendAlerts.create': {
    method: 'POST',
    path: OF_ORGANIZATION,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body,
    output: organizationAlert,
    about: 'creates an alert for the spending of all accounts in a calendar month (UTC)',
    deviation: OURS,
  },
  'spendAlerts.retrieve': {
    method: 'GET',
    path: ONE_OF_ORGANIZATION,
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: organizationAlert,
    about: "shows the organization's spend alert",
  },
  'spendAlerts.update': {
    method: 'POST',
    path: ONE_OF_ORGANIZATION,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body,
    output: organizationAlert,
    about: "replaces the organization's spend alert",
    deviation: `${OURS}; another threshold alerts again in the same month`,
  },
  'spendAlerts.delete': {
    method: 'DELETE',
    path: ONE_OF_ORGANIZATION,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: deleted('organization.spend_alert.deleted'),
    about: "deletes the organization's spend alert",
  },
} as const satisfies Record<string, Operation>
