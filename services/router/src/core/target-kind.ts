/**
 * The kind of a target. Targets of one kind refuse the same requests. A target of another kind may accept a request that
 * the first one refused: it speaks another dialect, has other capabilities, or is another vendor's.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import { vendorByHost } from '@gateway/contracts/vendors'

type Described = Pick<BackendConfig, 'dialects' | 'url' | 'capabilities' | 'vendor'>

export function kindOf(backend: Described): string {
  return [
    backend.dialects.toSorted().join('+'),
    backend.vendor ?? vendorByHost(backend.url) ?? '',
    ...backend.capabilities.toSorted(),
  ].join(' ')
}
