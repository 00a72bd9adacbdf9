/**
 * `GET /.well-known/jwks.json`: the public keys of receipts.
 */

import type { Handler } from '../http/handler.ts'
import { respondCacheable } from '../http/respond-cacheable.ts'
import type { ReceiptKeySource } from './receipt-keys.ts'

export function showReceiptKeys({ receipts }: { receipts: ReceiptKeySource }): Handler<'none'> {
  return async (_request, response) => respondCacheable(response, { keys: (await receipts.current()).published })
}
