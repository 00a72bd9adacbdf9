/**
 * Typed calls to the keys service. A keys service that does not answer is a 503, never a hang.
 */

import type { Bus } from '@gateway/bus/port'
import {
  fillReply,
  mintGuestReply,
  type FillReply,
  type FillRequest,
  type MintGuestReply,
  type MintGuestRequest,
} from '@gateway/contracts/keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { ask } from './ask.ts'

export interface KeysClient {
  fill(request: FillRequest): Promise<FillReply>
  mintGuest(request: MintGuestRequest): Promise<MintGuestReply>
}

export function createKeysClient(bus: Bus): KeysClient {
  return {
    fill: (request) => ask(bus, subjects.keysFill, request, fillReply),
    mintGuest: (request) => ask(bus, subjects.keysMintGuest, request, mintGuestReply),
  }
}
