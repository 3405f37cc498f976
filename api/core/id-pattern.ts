// Form of ids that clients choose: rooms, peers and names in Rooms.

/** Alphanumeric characters, hyphens and underscores, 1 to 128 of them. */
export const idPattern = /^[A-Za-z0-9_-]{1,128}$/;
export const idRule = 'may contain only alphanumeric characters, hyphens and underscores (1 to 128)';
