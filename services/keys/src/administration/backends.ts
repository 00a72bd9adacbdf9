/**
 * An operator ejects, drains or restores a backend. The state is kept here, and every router receives it within a second: after the
 * commit, and with each look for due work. The latter makes a lost message good.
 */

import type { BackendControl } from '@gateway/contracts/routers-api'
import { GatewayError } from '@gateway/contracts/errors'
import { rpcClient } from '@gateway/rpc/client'
import { lockControl, readControls, setControl } from '../db/backend-controls.ts'
import type { KeysContext } from '../keys-context.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'

export const backendHandlers = {
  'backends.eject': (call, input) => control(call, input, 'ejected'),
  'backends.drain': (call, input) => control(call, input, 'drained'),
  'backends.restore': (call, input) => control(call, input, null),
} satisfies Partial<AdministrationHandlers>

async function control(
  { transaction, context, audit, afterCommit }: AdministrationCall,
  { backend_id: id }: { backend_id: string },
  after: BackendControl | null,
) {
  const before = await lockControl(transaction, id)
  // A backend that a config has left out can still be restored.
  const isKnown = before !== null || context.config.current.backends.some((backend) => backend.id === id)
  if (!isKnown) throw new GatewayError('NOT_FOUND', `The config has no backend ${id}`)
  if (before !== after) {
    await setControl(transaction, id, after)
    afterCommit(() => publishControls(context))
    audit({
      type: 'backend.updated',
      details: { id, changes_requested: { control: after } },
      before: { control: before },
      after: { control: after },
    })
  }
  return { id, object: 'backend' as const, control: after }
}

async function publishControls({ bus, database, logger }: KeysContext): Promise<void> {
  try {
    rpcClient('keys', bus).publish('keysControls', await readControls(database))
  } catch (error) {
    logger.warn({ err: error }, 'a changed backend could not be published at once; the next look publishes it')
  }
}
