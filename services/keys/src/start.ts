/**
 * Starts keys on the given parts: the same in one process on embedded parts and in a cluster.
 */

import { administer } from './administration/administer.ts'
import { openAdministrationTurns } from './administration-turns.ts'
import type { KeysAdmission } from '@gateway/admission/port'
import type { Bus } from '@gateway/bus/port'
import { migrate } from '@gateway/postgres/migrate'
import type { ConfigSource } from '@gateway/config/config-source'
import type { Logger } from '@gateway/telemetry/logger'
import { createMetrics, type Metrics } from '@gateway/telemetry/metrics'
import { rpcClient } from '@gateway/rpc/client'
import { describeConfig } from '@gateway/rpc/describe-config'
import { type Handlers, serve } from '@gateway/rpc/server'
import { runUntilDisposed, type RunningService } from '@gateway/service/start-service'
import { noteRepairs } from './administration/audit-repairs.ts'
import { startAnnouncer } from './announce-changes.ts'
import { publishEvents } from './publish-events.ts'
import { openDueWork } from './due-work.ts'
import { announceThresholds, recordQuotaStatus } from './thresholds.ts'
import { responseSecretsOf, deriveMasterKeys, receiptSecretsOf, stateSecretsOf } from './core/master-keys.ts'
import { readControls } from './db/backend-controls.ts'
import { noteUse } from './db/keys.ts'
import { readPepper } from './db/pepper.ts'
import type { KeysDatabase } from './db/tables.ts'
import {
  resealKeys,
  revokeKey as revokeKeyAsOperator,
  setOverage,
  setPlan,
  topUp,
} from './administration/bus-commands.ts'
import { showAccount } from './handlers/show-account.ts'
import { openLookUps } from './gather-look-ups.ts'
import { fillTogether } from './handlers/fill.ts'
import { findAccount, findSession, listKeys, mintKey, revokeKey, rotateKey } from './handlers/developer-keys.ts'
import { lookUp } from './handlers/look-up.ts'
import { mintGuest } from './handlers/mint-guest.ts'
import { reconcile } from './administration/reconcile.ts'
import { startCleanupJob } from './cleanup-job.ts'
import type { KeysContext } from './keys-context.ts'
import { openMintRateLimiter } from './mint-rate-limiter.ts'
import { openRefusedSignIns } from './refused-sign-ins.ts'
import { requireMasterKeys } from './re-encrypt-keys.ts'
import { keyedMutex } from './keyed-mutex.ts'
import { watchOutbox } from './watch-outbox.ts'

export const URGENT_CONNECTIONS = 4

interface KeysParts {
  bus: Bus
  admission: KeysAdmission
  /** For the migrations, on connections of their own. */
  databaseUrl: string
  database: KeysDatabase
  /** A few connections of their own for rotating and revoking. */
  urgent: KeysDatabase
  config: ConfigSource
  masterSecret: string
  logger: Logger
  /** Where a process writes all its counts. */
  metrics?: Metrics
}

/** Refuses to start with a master secret that does not open the database's sealed values. */
export async function startKeys(given: KeysParts): Promise<RunningService> {
  const { databaseUrl, masterSecret, metrics = createMetrics({ service: 'keys' }), ...parts } = given
  const masterKeys = deriveMasterKeys(masterSecret)
  await migrate(databaseUrl, { schema: 'keys', directory: `${import.meta.dirname}/db/migrations` })
  await requireMasterKeys(parts.database, masterKeys)
  const pepper = await readPepper(parts.database, masterKeys)
  await using starting = new AsyncDisposableStack()
  const dueWork = starting.use(openDueWork(parts))
  const changes = starting.use(startAnnouncer({ ...parts, dueWork }))
  const lookUps = openLookUps(parts.database)
  const inTurn = keyedMutex()
  const context: KeysContext = {
    ...parts,
    inTurn,
    administrationTurns: openAdministrationTurns(),
    masterKeys,
    pepper,
    changes,
    dueWork,
    lookUps,
    mintRateLimiter: openMintRateLimiter(),
    refusedSignIns: starting.use(openRefusedSignIns(parts)),
  }
  starting.use(startCleanupJob(context))
  starting.use(announceThresholds(context))
  starting.use(publishEvents(context))
  starting.use(
    await rpcClient('keys', parts.bus).subscribe('keysUsed', ({ uses }) => {
      // The key's next use makes a lost note good.
      noteUse(parts.database, uses).catch((error: unknown) =>
        parts.logger.warn({ err: error }, 'the use of keys could not be noted'),
      )
    }),
  )
  starting.use(watchOutbox({ ...parts, metrics }))
  starting.use(await describeConfig(parts.bus, 'keys', () => parts.config.current.revision))
  starting.use(await serve({ ...parts, metrics }, 'keys', handlersOf(context)))
  return runUntilDisposed(starting.move())
}

function handlersOf(context: KeysContext): Handlers<'keys'> {
  return {
    keysFill: fillTogether(context),
    keysLookUp: (question) => lookUp(context, question),
    keysMintGuest: (question) => mintGuest(context, question),
    keysMint: (question) => mintKey(context, question),
    keysRotate: (question) => rotateKey(context, question),
    keysRevoke: (question) => revokeKey(context, question),
    keysRevokeById: (question) => revokeKeyAsOperator(context, question),
    keysList: (question) => listKeys(context, question),
    keysFindSession: (question) => findSession(context, question),
    keysFindAccount: (question) => findAccount(context, question),
    keysBackendControls: () => readControls(context.database),
    keysAdminister: (call) => administer(context, call),
    keysSetPlan: (question) => setPlan(context, question),
    keysSetOverage: (question) => setOverage(context, question),
    keysTopUp: (question) => topUp(context, question),
    keysReconcile: (question) => reconcile(context, question),
    keysNoteRepairs: (question) => noteRepairs(context, question),
    keysReseal: ({ origin }) => resealKeys(context, origin),
    keysAnswerSecrets: async () => responseSecretsOf(context.masterKeys),
    keysReceiptSecrets: async () => receiptSecretsOf(context.masterKeys),
    keysStateSecrets: async () => stateSecretsOf(context.masterKeys),
    keysNoteStanding: (question) => recordQuotaStatus(context, question),
    keysShowAccount: (question) => showAccount(context, question),
  }
}
