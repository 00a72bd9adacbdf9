/**
 * The resources of this service's handlers.
 */

import type { KeysAdmission } from '@gateway/admission/port'
import type { Bus } from '@gateway/bus/port'
import type { ConfigSource } from '@gateway/config/config-source'
import type { Logger } from '@gateway/telemetry/logger'
import type { AdministrationTurns } from './administration-turns.ts'
import type { Announcer } from './announce-changes.ts'
import type { Pepper } from './core/hashing.ts'
import type { MasterKeys } from './core/master-keys.ts'
import type { KeysDatabase } from './db/tables.ts'
import type { DueWork } from './due-work.ts'
import type { LookUps } from './gather-look-ups.ts'
import type { MintRateLimiter } from './mint-rate-limiter.ts'
import type { RefusedSignIns } from './refused-sign-ins.ts'
import type { KeyedMutex } from './keyed-mutex.ts'

export interface KeysContext {
  bus: Bus
  admission: KeysAdmission
  database: KeysDatabase
  /** A few connections for rotating and revoking alone, which wait for nothing else. */
  urgent: KeysDatabase
  /** For transactions there that wait for rows of an owner. */
  inTurn: KeyedMutex
  administrationTurns: AdministrationTurns
  lookUps: LookUps
  mintRateLimiter: MintRateLimiter
  refusedSignIns: RefusedSignIns
  config: ConfigSource
  masterKeys: MasterKeys
  pepper: Pepper
  changes: Announcer
  dueWork: DueWork
  logger: Logger
}
