/**
 * Checks a signed receipt: whether this gateway signed it, for which charge, and for which content. All of it happens in the browser.
 */

import { RECEIPT_KEYS_PATH } from '@gateway/contracts/receipts'
import { Button, FileButton, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type SyntheticEvent } from 'react'
import * as z from 'zod'
import { sendRequest } from '../../gateway/send-request.ts'
import { useCaller } from '../../gateway/use-caller.ts'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import classes from './receipts-page.module.css'
import { Verdict } from './verdict.tsx'
import { verifyReceipt } from './verify-receipt.ts'

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) })

interface ChosenFile {
  name: string
  bytes: Uint8Array<ArrayBuffer>
}

export default function ReceiptsPage() {
  const [receipt, setReceipt] = useState('')
  const [text, setText] = useState('')
  const [file, setFile] = useState<ChosenFile | null>(null)
  const caller = useCaller()
  const check = useMutation({
    async mutationFn() {
      const keys = await sendRequest(caller, RECEIPT_KEYS_PATH, keySet, { isPublic: true })
      const pasted = text === '' ? null : new TextEncoder().encode(text)
      return verifyReceipt(receipt, keys, file?.bytes ?? pasted)
    },
  })

  function submit(event: SyntheticEvent): void {
    event.preventDefault()
    check.mutate()
  }

  async function choose(chosen: File | null): Promise<void> {
    check.reset()
    setFile(chosen && { name: chosen.name, bytes: new Uint8Array(await chosen.arrayBuffer()) })
  }

  return (
    <Page
      title="Receipts"
      lead="A response to a request with x-svc-receipt: 1 brings its signed charge. Check one here; nothing leaves this browser."
    >
      <Card>
        <form onSubmit={submit} className={classes.form}>
          <Textarea
            label="Receipt"
            description="The value of the trailer x-svc-receipt, or svc_receipt of a stream’s last event"
            required
            autosize={false}
            rows={5}
            spellCheck={false}
            classNames={{ input: 'mono' }}
            value={receipt}
            onChange={({ currentTarget: { value } }) => {
              check.reset()
              setReceipt(value)
            }}
          />
          <Textarea
            label="Content (optional)"
            description="The body or the stream exactly as it came. A file is safer: pasting may change line ends"
            autosize={false}
            rows={4}
            spellCheck={false}
            classNames={{ input: 'mono' }}
            disabled={file !== null}
            value={text}
            onChange={({ currentTarget: { value } }) => {
              check.reset()
              setText(value)
            }}
          />
          <div className={classes.acts}>
            <FileButton onChange={(chosen) => void choose(chosen)} inputProps={{ 'aria-label': 'Content as a file' }}>
              {(props) => (
                <Button variant="default" {...props}>
                  {file ? file.name : 'Choose a file'}
                </Button>
              )}
            </FileButton>
            {file && (
              <Button variant="subtle" color="gray" onClick={() => void choose(null)}>
                Without the file
              </Button>
            )}
            <Button type="submit" loading={check.isPending} className={classes.check}>
              Check receipt
            </Button>
          </div>
        </form>
      </Card>
      <div aria-live="polite">
        {check.error && <ProblemNotice problem={problemOf(check.error)} />}
        {check.data && <Verdict verification={check.data} />}
      </div>
    </Page>
  )
}
