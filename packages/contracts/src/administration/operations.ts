/**
 * All calls of the administration API by name.
 */

import { adminKeyOperations } from './admin-keys.ts'
import { auditLogOperations } from './audit-logs.ts'
import { exportOperations } from './exports.ts'
import {
  dataRetentionOperations,
  hostedToolOperations,
  modelPermissionOperations,
  rateLimitOperations,
  spendLimitOperations,
} from './limits.ts'
import { projectGroupOperations, projectUserOperations } from './members.ts'
import type { InputOf, Operation, OutputOf } from './operation.ts'
import { groupOperations, roleOperations, userHoldingOperations, userOperations } from './people.ts'
import { projectKeyOperations, projectOperations, serviceAccountOperations } from './projects.ts'
import { overviewOperations } from './overview.ts'
import { meOperations, projectViewOperations } from './project-views.ts'
import { accountOperations, backendOperations, configOperations, upkeepOperations } from './ours.ts'
import { modelOperations } from './models.ts'
import { organizationSpendAlertOperations, projectSpendAlertOperations } from './spend-alerts.ts'
import { usageOperations } from './usage.ts'
import { webhookOperations } from './webhooks.ts'

export const operations = {
  ...projectOperations,
  ...serviceAccountOperations,
  ...projectKeyOperations,
  ...rateLimitOperations,
  ...modelPermissionOperations,
  ...spendLimitOperations,
  ...hostedToolOperations,
  ...dataRetentionOperations,
  ...projectSpendAlertOperations,
  ...organizationSpendAlertOperations,
  ...adminKeyOperations,
  ...userOperations,
  ...userHoldingOperations,
  ...groupOperations,
  ...roleOperations,
  ...projectUserOperations,
  ...projectGroupOperations,
  ...auditLogOperations,
  ...backendOperations,
  ...configOperations,
  ...modelOperations,
  ...accountOperations,
  ...upkeepOperations,
  ...meOperations,
  ...projectViewOperations,
  ...webhookOperations,
  ...exportOperations,
  ...usageOperations,
  ...overviewOperations,
} as const satisfies Record<string, Operation>

type Operations = typeof operations
export type OperationName = keyof Operations
export type Input<Name extends OperationName> = InputOf<Operations[Name]>
export type Output<Name extends OperationName> = OutputOf<Operations[Name]>
/** The names of the calls that a service serves. */
export type OperationsOf<Service extends Operation['service']> = {
  [Name in OperationName]: Operations[Name]['service'] extends Service ? Name : never
}[OperationName]

export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(operations, name)
}
