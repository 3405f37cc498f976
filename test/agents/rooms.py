# Server API of the test: LiveKit's SDK for Python creates, lists, changes and deletes a room, and dispatches an agent. Prints what it got.
import asyncio
import json

from livekit import api


async def main() -> None:
    async with api.LiveKitAPI() as client:
        created = await client.room.create_room(api.CreateRoomRequest(name="made", metadata="one", max_participants=5))
        changed = await client.room.update_room_metadata(api.UpdateRoomMetadataRequest(room="made", metadata="two"))
        listed = await client.room.list_rooms(api.ListRoomsRequest())
        present = await client.room.list_participants(api.ListParticipantsRequest(room="made"))
        dispatched = await client.agent_dispatch.create_dispatch(api.CreateAgentDispatchRequest(room="made", agent_name="notes"))
        dispatches = await client.agent_dispatch.list_dispatch("made")
        try:
            await client.room.get_participant(api.RoomParticipantIdentity(room="made", identity="nobody"))
            missing = "found"
        except api.TwirpError as error:
            missing = error.code
        await client.room.delete_room(api.DeleteRoomRequest(room="made"))
        after = await client.room.list_rooms(api.ListRoomsRequest(names=["made"]))
        result = {
            "created": [created.name, created.metadata, created.max_participants],
            "metadata": changed.metadata,
            "listed": [room.name for room in listed.rooms],
            "participants": len(present.participants),
            "dispatched": dispatched.id in [each.id for each in dispatches],
            "missing": missing,
            "after": len(after.rooms),
        }
        print(json.dumps(result))


asyncio.run(main())
