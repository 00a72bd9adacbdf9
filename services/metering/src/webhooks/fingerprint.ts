/**
 * Digests of a webhook as it stands in the config file. A variable of another value does not change it.
 */

import { createHash } from 'node:crypto'
import type { WebhookConfig } from '@gateway/contracts/webhooks'

export function fingerprintOf(webhook: WebhookConfig): string {
  return digestOf(JSON.stringify(webhook))
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
