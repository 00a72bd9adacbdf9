import { useState } from 'react'
import { useKeys, activeKeyOf } from '../../gateway/queries.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { Page } from '../../parts/page.tsx'
import { CreateKey } from './create-key.tsx'
import { CurrentKey } from './current-key.tsx'
import { KeyHistory } from './key-history.tsx'
import { RevealedKey } from './revealed-key.tsx'

export default function KeysPage() {
  const keys = useKeys()
  const [revealed, setRevealed] = useState<string | null>(null)
  const active = activeKeyOf(keys.data)
  return (
    <Page title="Keys" lead="One active key per account. Applications send it with every request.">
      {revealed && <RevealedKey value={revealed} onDone={() => setRevealed(null)} />}
      <QueryView query={keys} heights={[172, 200]}>
        {({ data, next }) => (
          <>
            {active ? (
              <CurrentKey listed={active} onReveal={setRevealed} onRevoked={() => setRevealed(null)} />
            ) : (
              <CreateKey isFirst={data.length === 0} onCreated={setRevealed} />
            )}
            <KeyHistory keys={data} hasMore={typeof next === 'string'} />
          </>
        )}
      </QueryView>
    </Page>
  )
}
