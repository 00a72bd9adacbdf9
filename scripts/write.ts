/** `npm run write <what>`: writes files of the repository that follow from others. Review the changes before you commit. */

import { runNamed } from './run-named.ts'

await runNamed('npm run write', {
  deploy: () => import('./deploy/write.ts'),
  schemas: () => import('./vendor-schemas/main.ts'),
})
