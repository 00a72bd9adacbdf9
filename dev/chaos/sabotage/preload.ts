/**
 * Loaded before a gateway process, in sabotaged chaos runs only: applies the sabotages of `CHAOS_SABOTAGE` as modules
 * load.
 */

import { registerHooks } from 'node:module'
import { change, type Sabotage, SABOTAGES } from './sabotages.ts'

const changes = SABOTAGES[process.env['CHAOS_SABOTAGE'] as Sabotage]

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!changes.some(({ file }) => url.endsWith(file)) || loaded.source == null) return loaded
    const source =
      typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString()
    return { ...loaded, source: change(source, url, changes) }
  },
})
