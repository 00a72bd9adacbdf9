/**
 * `npm run deploy:write`: writes the files under deploy/ that follow from the code.
 */

import { writeFileSync } from 'node:fs'
import { natsUsersFile, NATS_USERS_PATH } from './nats-users.ts'

writeFileSync(NATS_USERS_PATH, natsUsersFile())
