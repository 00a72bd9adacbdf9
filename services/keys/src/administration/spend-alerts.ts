/**
 * Spend alerts of projects and of the organization: an event at a threshold, once a calendar month. They refuse no request.
 */

import { randomBytes } from 'node:crypto'
import type {
  OrganizationSpendAlert,
  ProjectSpendAlert,
  SpendAlertBody,
} from '@gateway/contracts/administration/spend-alerts'
import { GatewayError } from '@gateway/contracts/errors'
import type { AuditEntry } from '../core/audit-entry.ts'
import { pageOf } from '../core/page.ts'
import { unitOf } from '../core/plans.ts'
import { hardLimitIn } from '../core/project-facts.ts'
import { sortableId } from '../core/sortable-id.ts'
import {
  changeAlert,
  deleteAlert,
  findAlert,
  insertAlert,
  listAlerts,
  lockOrganizationAlerts,
  type SpendAlertRow,
  type SpendAlertSettings,
} from '../db/spend-alerts.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { updatedProject } from './change-limits.ts'
import { lockLiveProject, readProject } from './project-of-call.ts'

export const projectSpendAlertHandlers = {
  'projectSpendAlerts.list': async (call, input) => {
    const { tag } = await readProject(call, input)
    return pageOf((await listAlerts(call.transaction, tag)).map(ofProject), input.order ?? 'desc', input)
  },
  'projectSpendAlerts.create': async (call, input) => {
    const { tag, plan } = await lockLiveProject(call, input)
    const settings = settingsOf(input)
    expectCounting(call, plan, settings)
    const alert = await create(call, tag, settings)
    call.audit(updatedProject(input, changeOf(null, alert)))
    return ofProject(alert)
  },
  'projectSpendAlerts.retrieve': async (call, input) => {
    const { tag } = await readProject(call, input)
    return ofProject(await expectAlert(call, tag, input.alert_id))
  },
  'projectSpendAlerts.update': async (call, input) => {
    const { tag, plan } = await lockLiveProject(call, input)
    const held = await expectAlert(call, tag, input.alert_id)
    const settings = settingsOf(input)
    expectCounting(call, plan, settings)
    await changeAlert(call.transaction, held.id, settings)
    call.audit(updatedProject(input, changeOf(held, { ...settings, id: held.id })))
    return ofProject({ ...settings, id: held.id })
  },
  'projectSpendAlerts.delete': async (call, input) => {
    const { tag } = await lockLiveProject(call, input)
    const held = await expectAlert(call, tag, input.alert_id)
    await deleteAlert(call.transaction, held.id)
    call.audit(updatedProject(input, changeOf(held, null)))
    return { id: held.id, object: 'project.spend_alert.deleted', deleted: true }
  },
} satisfies Partial<AdministrationHandlers>

export const organizationSpendAlertHandlers = {
  'spendAlerts.list': async (call, input) =>
    pageOf((await listAlerts(call.transaction, null)).map(ofOrganization), input.order ?? 'desc', input),
  'spendAlerts.create': async (call, input) => {
    await lockOrganizationAlerts(call.transaction)
    const alert = await create(call, null, settingsOf(input))
    call.audit(updatedOrganization(changeOf(null, alert)))
    return ofOrganization(alert)
  },
  'spendAlerts.retrieve': async (call, input) => ofOrganization(await expectAlert(call, null, input.alert_id)),
  'spendAlerts.update': async (call, input) => {
    await lockOrganizationAlerts(call.transaction)
    const held = await expectAlert(call, null, input.alert_id)
    const settings = settingsOf(input)
    await changeAlert(call.transaction, held.id, settings)
    call.audit(updatedOrganization(changeOf(held, { ...settings, id: held.id })))
    return ofOrganization({ ...settings, id: held.id })
  },
  'spendAlerts.delete': async (call, input) => {
    await lockOrganizationAlerts(call.transaction)
    const held = await expectAlert(call, null, input.alert_id)
    await deleteAlert(call.transaction, held.id)
    call.audit(updatedOrganization(changeOf(held, null)))
    return { id: held.id, object: 'organization.spend_alert.deleted', deleted: true }
  },
} satisfies Partial<AdministrationHandlers>

const MOST_ALERTS = 100

/** Under the owner's lock. */
async function create(
  { transaction }: AdministrationCall,
  account: string | null,
  settings: SpendAlertSettings,
): Promise<SpendAlertRow> {
  const { length } = await listAlerts(transaction, account)
  if (length >= MOST_ALERTS)
    throw new GatewayError('CONFLICT', `There are ${MOST_ALERTS} spend alerts already: delete one`)
  const alert = { ...settings, id: sortableId('alert_', Date.now(), randomBytes) }
  await insertAlert(transaction, account, alert)
  return alert
}

async function expectAlert({ transaction }: AdministrationCall, account: string | null, id: string) {
  const alert = await findAlert(transaction, account, id)
  if (!alert) throw new GatewayError('NOT_FOUND', `There is no spend alert ${id}`)
  return alert
}

function settingsOf({ threshold_amount, allowance, notification_channel }: SpendAlertBody): SpendAlertSettings {
  const thresholdCents = threshold_amount ?? null
  const allowanceTokens = allowance ?? null
  if (thresholdCents === null && allowanceTokens === null) {
    const message = 'threshold_amount: set it, in cents, or `allowance`, in tokens'
    throw new GatewayError('VALIDATION_ERROR', message, { param: 'threshold_amount' })
  }
  const { recipients, subject_prefix: subjectPrefix = null } = notification_channel
  return { thresholdCents, allowanceTokens, recipients, subjectPrefix }
}

/** An alert that no spending of the project's plan can reach is a mistake. */
function expectCounting(
  { context }: AdministrationCall,
  plan: string,
  { thresholdCents: spendCents, allowanceTokens }: SpendAlertSettings,
): void {
  const unit = unitOf(context.config.current.plans, plan)
  if (hardLimitIn(unit, { spendCents, allowanceTokens }) !== null) return
  const param = unit === 'usd' ? 'threshold_amount' : 'allowance'
  const message = `${param}: the project's plan ${plan} counts ${unit === 'usd' ? 'US dollars' : 'tokens'}, so set it`
  throw new GatewayError('VALIDATION_ERROR', message, { param })
}

function view({ id, thresholdCents, allowanceTokens, recipients, subjectPrefix }: SpendAlertRow) {
  return {
    id,
    currency: 'USD' as const,
    interval: 'month' as const,
    threshold_amount: thresholdCents ?? 0,
    ...(allowanceTokens !== null && { allowance: allowanceTokens }),
    notification_channel: { type: 'email' as const, recipients, subject_prefix: subjectPrefix },
  }
}

function ofProject(alert: SpendAlertRow): ProjectSpendAlert {
  return { object: 'project.spend_alert', ...view(alert) }
}

function ofOrganization(alert: SpendAlertRow): OrganizationSpendAlert {
  return { object: 'organization.spend_alert', ...view(alert) }
}

type AuditedChange = Required<Pick<AuditEntry, 'before' | 'after'>>

function changeOf(before: SpendAlertRow | null, after: SpendAlertRow | null): AuditedChange {
  return { before: { spend_alert: before && view(before) }, after: { spend_alert: after && view(after) } }
}

function updatedOrganization({ before, after }: AuditedChange): AuditEntry {
  return { type: 'organization.updated', details: { changes_requested: after }, before, after }
}
