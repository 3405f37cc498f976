// Idempotency: adds a generated `externalId`, so that a retried request returns the object of the first one.

export function withExternalId<Body extends { externalId?: string }>(body: Body): Body & { externalId: string } {
  return { ...body, externalId: body.externalId ?? `sdk-${crypto.randomUUID()}` };
}
