import { expect, test } from 'vitest'
import { readWantsReceipt, receiptHeader } from './wanted-receipt.ts'

test.each([undefined, '', '0', '1', '01', 'true', 'F', ' 1'])(
  'the API reference takes x-svc-receipt: %s exactly if the gateway takes it',
  (header) => {
    let wants: boolean | null = null
    try {
      wants = readWantsReceipt(header)
    } catch {}
    expect(receiptHeader.optional().safeParse(header).success).toBe(wants !== null)
    if (wants !== null) expect(wants).toBe(header === '1')
  },
)
