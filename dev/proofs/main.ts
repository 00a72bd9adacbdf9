/**
 * `npm run prove <what>`: the proofs that need more than `npm test` installs, one at a time. Arguments behind the name are the
 * proof's own.
 */

import { runNamed } from '../../scripts/run-named.ts'

await runNamed('npm run prove', {
  contract: () => import('./contract/main.ts'),
  backends: () => import('./backends/main.ts'),
  'open-responses': () => import('./open-responses/main.ts'),
  agents: () => import('./agents/main.ts'),
  clients: () => import('./clients/main.ts'),
  release: () => import('./release/main.ts'),
  compose: () => import('./compose/main.ts'),
  kubernetes: () => import('./kubernetes/main.ts'),
})
