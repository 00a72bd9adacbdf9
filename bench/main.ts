/**
 * `npm run bench`: what the gateway costs, beside its peers.
 */

import { quick } from './quick.ts'

const [part = 'quick'] = process.argv.slice(2)
if (part === 'quick') await quick()
