/**
 * Events of the gateway as webhooks and e-mails carry them: type, time and data by the Standard Webhooks specification.
 */

import type { AccountKeyEvent, SpendAlertEvent } from '@gateway/contracts/account-events'
import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { BackendChange } from './backend-changes.ts'
import type { AccountThreshold } from '@gateway/contracts/quota-status'

export interface WebhookMessage {
  /** The same for each repetition of the event; unlike any other's. */
  source: string
  type: string
  /** Messages of one line arrive in order. */
  line: string
  timestamp: string
  data: Record<string, unknown>
}

export interface Mail {
  recipients: readonly string[]
  subject: string
  text: string
}

interface RefusedConfig {
  digest: string
  problems: readonly { field: string; message: string; line?: number }[]
  at: string
}

const MOST_PROBLEMS = 20

export function thresholdMessage(event: AccountThreshold): WebhookMessage {
  return {
    source: `threshold ${event.id}`,
    type: 'allowance.reached',
    line: event.account,
    timestamp: event.passedAt,
    data: {
      project_id: projectId(event.account),
      account_kind: event.kind,
      issuer: event.issuer,
      subject: event.subject,
      month: event.window,
      percent: event.percent,
      plan: event.plan,
      unit: event.unit,
      used: event.used,
      limit: event.limit,
    },
  }
}

export function spendAlertMessage(event: SpendAlertEvent): WebhookMessage {
  return {
    source: `spend-alert ${event.id}`,
    type: 'spend_alert.reached',
    line: event.account ?? '',
    timestamp: event.passedAt,
    data: {
      alert_id: event.alertId,
      scope: event.scope,
      project_id: event.account === null ? null : projectId(event.account),
      project_name: event.projectName,
      month: event.window,
      unit: event.unit,
      threshold: event.threshold,
      used: event.used,
    },
  }
}

export function keyMessage(event: AccountKeyEvent): WebhookMessage {
  return {
    source: `key ${event.id}`,
    type: `key.${event.change}`,
    line: event.account,
    timestamp: event.at,
    data: {
      key_id: event.keyId,
      name: event.name ?? null,
      service_account_id: event.serviceAccountId ?? null,
      project_id: projectId(event.account),
      project_name: event.projectName,
      account_kind: event.accountKind,
      expires_at: event.expiresAt ?? null,
    },
  }
}

/** `digest`: of the text that is refused. */
export function refusedConfigMessage({ digest, problems, at }: RefusedConfig): WebhookMessage {
  return {
    source: `config ${digest}`,
    type: 'config.refused',
    line: 'config',
    timestamp: at,
    data: {
      problems: problems.slice(0, MOST_PROBLEMS).map(({ field, message, line = null }) => ({ field, message, line })),
    },
  }
}

/** `change`: the number of the backend's changes until now. */
export function backendMessage({ backend, isOut, reasons }: BackendChange, change: number, at: string): WebhookMessage {
  return {
    source: `backend ${backend} ${change}`,
    type: isOut ? 'backend.ejected' : 'backend.restored',
    line: `backend ${backend}`,
    timestamp: at,
    data: { backend, reasons },
  }
}

function projectId(account: string): string {
  return `${PROJECT_PREFIX}${account}`
}

/** Subject and text are one line and a few: names are cut, and hold no line break. */
export function spendAlertMail(event: SpendAlertEvent): Mail {
  const owner = event.account === null ? 'The organization' : nameOfProject(event)
  const what = `${owner} has reached a spend alert: ${amount(event.threshold, event.unit)} in ${event.window}`
  return {
    recipients: [...new Set(event.recipients)],
    subject: oneLine(`${event.subjectPrefix ? `${event.subjectPrefix} ` : ''}${what}`),
    text: [
      oneLine(`${what}.`),
      '',
      `Used when the alert was noticed: ${amount(event.used, event.unit)}.`,
      `Noticed at: ${event.passedAt}`,
      `Alert: ${event.alertId}`,
      '',
      'Requests go on: an alert informs and refuses nothing. The next mail of this alert comes next month, or when its threshold changes.',
      '',
    ].join('\n'),
  }
}

function nameOfProject({ account, projectName, accountKind }: SpendAlertEvent): string {
  if (projectName !== null) return `The project ${projectName}`
  return `The ${accountKind === 'developer' ? 'account' : 'project'} ${projectId(account!)}`
}

function amount(value: number, unit: SpendAlertEvent['unit']): string {
  return unit === 'usd'
    ? `US$ ${value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
    : `${value.toLocaleString('en-US')} tokens`
}

const LONGEST_LINE = 300

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, LONGEST_LINE)
}
