/**
 * Takes out of a request all that its price does not cover: other models, other tiers, and tools of the vendor.
 */

import { withPricedTools } from '../core/hosted-tools.ts'
import { stripUnpricedOptions } from '../core/strip-unpriced-options.ts'
import type { ClientRequest } from './dialect.ts'

export function withoutUnpriced({ body, model, hosted }: ClientRequest): { body: Buffer; dropped: string[] } {
  const ofOne = stripUnpricedOptions(body)
  if (hosted === undefined) return ofOne
  const priced = withPricedTools(ofOne.body, model, hosted)
  return { body: priced.body, dropped: [...ofOne.dropped, ...priced.dropped] }
}
