/** DeepInfra. */

import { hostedVendor } from './hosted-vendor.ts'

export const deepinfra = hostedVendor('deepinfra', {})
