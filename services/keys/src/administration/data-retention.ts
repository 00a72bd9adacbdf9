/**
 * Prompts and responses are never stored, so data retention has one value.
 */

import { GatewayError } from '@gateway/contracts/errors'
import type { AdministrationHandlers } from './call.ts'

const ALWAYS = 'zero_data_retention' as const

export const dataRetentionHandlers = {
  'projectDataRetention.retrieve': async () => ({ object: 'project.data_retention', type: ALWAYS }),
  'projectDataRetention.update': async (_call, { retention_type }) => {
    expectZero(retention_type)
    return { object: 'project.data_retention', type: ALWAYS }
  },
  'dataRetention.retrieve': async () => ({ object: 'organization.data_retention', type: ALWAYS }),
  'dataRetention.update': async (_call, { retention_type }) => {
    expectZero(retention_type)
    return { object: 'organization.data_retention', type: ALWAYS }
  },
} satisfies Partial<AdministrationHandlers>

function expectZero(type: string): void {
  if (type === ALWAYS) return
  const message = `retention_type: this gateway stores no prompts and no responses, so it is always ${ALWAYS}`
  throw new GatewayError('VALIDATION_ERROR', message, { param: 'retention_type' })
}
