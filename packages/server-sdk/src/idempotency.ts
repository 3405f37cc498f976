// What makes something carries a key of its own, so that a repeated request gets what the first one made.

export function withExternalId<Body extends { externalId?: string }>(body: Body): Body & { externalId: string } {
  return { ...body, externalId: body.externalId ?? `sdk-${crypto.randomUUID()}` };
}
