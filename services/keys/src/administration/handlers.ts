/**
 * All handlers of the administration API that this service has, by the names of their calls.
 */

import { adminKeyHandlers } from './admin-keys.ts'
import { apiKeyHandlers } from './api-keys.ts'
import { auditLogHandlers } from './audit-logs.ts'
import { accountHandlers } from './accounts.ts'
import { backendHandlers } from './backends.ts'
import type { AdministrationHandlers } from './call.ts'
import { dataRetentionHandlers } from './data-retention.ts'
import { groupHandlers } from './groups.ts'
import { holdingHandlers } from './holdings.ts'
import { hostedToolHandlers } from './hosted-tools.ts'
import { projectGroupHandlers, projectUserHandlers } from './members.ts'
import { modelPermissionHandlers } from './model-permissions.ts'
import { projectHandlers } from './projects.ts'
import { projectViewHandlers } from './project-views.ts'
import { rateLimitHandlers } from './rate-limits.ts'
import { roleHandlers } from './roles.ts'
import { serviceAccountHandlers } from './service-accounts.ts'
import { organizationSpendAlertHandlers, projectSpendAlertHandlers } from './spend-alerts.ts'
import { spendLimitHandlers } from './spend-limit.ts'
import { userHandlers } from './users.ts'
import { upkeepHandlers } from './upkeep.ts'

export const handlers = {
  ...accountHandlers,
  ...backendHandlers,
  ...upkeepHandlers,
  ...projectHandlers,
  ...projectViewHandlers,
  ...serviceAccountHandlers,
  ...apiKeyHandlers,
  ...rateLimitHandlers,
  ...modelPermissionHandlers,
  ...spendLimitHandlers,
  ...hostedToolHandlers,
  ...dataRetentionHandlers,
  ...adminKeyHandlers,
  ...userHandlers,
  ...holdingHandlers,
  ...groupHandlers,
  ...roleHandlers,
  ...projectUserHandlers,
  ...projectGroupHandlers,
  ...auditLogHandlers,
  ...projectSpendAlertHandlers,
  ...organizationSpendAlertHandlers,
} satisfies Partial<AdministrationHandlers>
