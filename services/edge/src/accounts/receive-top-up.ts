/**
 * `POST /billing/top-ups`: a payment system reports a payment for a project, and the keys service tops its account up. A payment system
 * repeats a report until it reads a 200; the payment's id counts once, so the edge repeats the call as well.
 */

import { topUpBody, type topUpReceived } from '@gateway/contracts/top-ups'
import * as z from 'zod'
import { outputOf } from '../administration/serve-operation.ts'
import type { ClientAddress } from '../http/client-network.ts'
import type { Handler } from '../http/handler.ts'
import { originOf } from '../http/report-refused.ts'
import { parseBody } from '../requests/inference-kinds.ts'
import type { KeysClient } from '../rpc/service-clients.ts'

interface TopUpsContext {
  keys: Pick<KeysClient, 'administer'>
  clientAddress: ClientAddress
}

const toppedUp = z.object({ id: z.string() })

export function receiveTopUp({ keys, clientAddress }: TopUpsContext): Handler<'signature'> {
  return async (request, response, body) => {
    const { id, project, amount } = parseBody(topUpBody, body)
    const call = {
      operation: 'accounts.topUp',
      input: { account_id: project, id, amount },
      credential: { kind: 'payment_system' as const },
      origin: originOf(clientAddress, request, response),
    }
    const account = toppedUp.parse(outputOf(await keys.administer(call, true)))
    response.json({ object: 'top_up', id, project: account.id, amount } satisfies z.infer<typeof topUpReceived>)
  }
}
