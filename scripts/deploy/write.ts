/**
 * `npm run write deploy`: writes the files under deploy/ that follow from the code, and ARCHITECTURE.md's table of subjects. Review the changes before you commit.
 */

import { writeFileSync } from 'node:fs'
import { goldenPath, goldenText, render, valueSets } from './chart.ts'
import { NATS_USERS_PATH, natsUsersFile } from './nats-users.ts'
import { ARCHITECTURE_PATH, withSubjects } from './subjects-table.ts'

writeFileSync(NATS_USERS_PATH, natsUsersFile())
writeFileSync(ARCHITECTURE_PATH, withSubjects())
for (const set of valueSets) writeFileSync(goldenPath(set), goldenText(render(set)))
