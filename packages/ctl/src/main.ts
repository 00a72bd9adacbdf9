/**
 * `npm run ctl -- …`: the operator's command line. Finds the gateway by `NATS_URL` or `DATA_DIR`.
 *
 * Exit codes: 0 done, 1 it could not be done, 2 it was done and found something to act on.
 */

import { reportFatal } from '@gateway/service/report-fatal'
import { program } from './program.ts'

// `| head` closes its input early. That is no error, and the exit code stays.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})

try {
  await program.parseAsync()
} catch (error) {
  // It exits: a connection that is still being tried would keep the process.
  reportFatal(error)
}
